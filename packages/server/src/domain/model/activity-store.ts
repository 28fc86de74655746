/** Rows with the activity of one hour or one day, over all nodes. */

/** `d2026-11-26` for a day, `h2026-11-26T06` for an hour, both in UTC. */
export type ActivityPeriod = string

export type ActivityEntry = { period: ActivityPeriod; signIns: number }

/** `sketch`: of the distinct wallets that were active (`domain/activity`). */
export type Activity = ActivityEntry & { sketch: Uint8Array }

/** A page begins after the period `after`, in the order of the names: days before hours, the oldest first. */
export type ActivityPage = { after: string; limit: number }

export interface ActivityStore {
  insertActivity(activity: Activity): Promise<'inserted' | 'taken'>
  /** Changes a row without losing a simultaneous change. `change` may be called more than once. Null for an unknown period. */
  changeActivity(period: ActivityPeriod, change: (activity: Activity) => Activity): Promise<Activity | null>
  readActivity(page: ActivityPage): Promise<Activity[]>
  /** The same without the sketches. */
  readActivityEntries(page: ActivityPage): Promise<ActivityEntry[]>
  deleteActivity(period: ActivityPeriod): Promise<'deleted' | 'unknown'>
}
