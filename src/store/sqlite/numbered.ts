/**
 * A statement whose `:names` are replaced by their places in a list, `?1` and so on. The statement stays readable and its
 * values are bound by place: by name each costs a look-up of its own, a tenth of the whole statement together.
 */
export function numbered(sql: string, names: readonly string[]): string {
  return sql.replace(/:([A-Za-z]+)/g, (_, name: string) => {
    const place = names.indexOf(name) + 1
    if (place === 0) throw new Error(`:${name} has no place`)
    return `?${place}`
  })
}
