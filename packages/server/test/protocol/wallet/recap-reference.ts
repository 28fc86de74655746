/** The algorithms of ERC-5573 for any ReCap, written from the standard and independent of our implementation. */

export type RecapDetails = { att: Record<string, Record<string, object[]>> }

export function decodeRecapUri(uri: string): RecapDetails {
  const [, payload = ''] = /^urn:recap:([A-Za-z0-9_-]+)$/.exec(uri) ?? []
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as RecapDetails
}

/** "ReCap Translation Algorithm", with the spaces of the standard's examples. */
export function translate({ att }: RecapDetails): string {
  const entries = Object.entries(att).flatMap(([resource, abilities]) => {
    const names = Object.keys(abilities).map((ability) => ability.split('/'))
    const namespaces = [...new Set(names.map(([namespace]) => namespace))]
    return namespaces.map((namespace) => {
      const own = names.filter(([each]) => each === namespace).map(([, name]) => `'${name}'`)
      return `'${namespace}': ${own.join(', ')} for '${resource}'.`
    })
  })
  const numbered = entries.map((entry, i) => ` (${i + 1}) ${entry}`)
  return `I further authorize the stated URI to perform the following actions on my behalf:${numbered.join('')}`
}
