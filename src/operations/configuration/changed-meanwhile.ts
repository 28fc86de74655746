/** The entry in the store is not the one that the plan was made for. Nothing of this entry was changed. */
export class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile'
}
