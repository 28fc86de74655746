/** The kinds of records, as in the paths of the API and in the names of commands. */
export type SubjectName =
  | 'clients'
  | 'resources'
  | 'operators'
  | 'grants'
  | 'sessions'
  | 'keys'
  | 'jobs'
  | 'audit'
  | 'webhooks'
  | 'settings'
  | 'totals'
  | 'receipts'
