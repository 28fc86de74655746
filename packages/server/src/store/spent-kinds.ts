/**
 * The kinds of rows in the table `spent`, as the column `kind` stores them. A number never changes its meaning: the schema has the numbers too.
 *
 * `assertion` and `dpop` can be used once. The other rows are endings: an access token without a grant that was revoked, a client whose tokens
 * became inactive, and, on PostgreSQL, an access token of a grant that was revoked.
 */
export const SPENT_KINDS = { assertion: 0, dpop: 1, access_token: 2, client: 3, token: 4 } as const
