/** On one's own machine, the next step after the registration for an API is a call of this API. `data`: the folder of `grantor start`. */
export function tokenLines(resource: unknown, data: string | undefined): string[] {
  if (data === undefined || typeof resource !== 'string') return []
  return ['', 'A token for this API, without a browser:', `  npx grantor test-token --data ${data} --resource ${resource}`]
}
