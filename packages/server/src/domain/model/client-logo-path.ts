import type { Client } from './records.ts'

/** The path of the auth service at which a logo is served; undefined for a client without one. Another logo has another path. */
export function clientLogoPath({ id, logo }: Pick<Client, 'id' | 'logo'>): string | undefined {
  return logo ? `/logos/${id}/${logo.hash}` : undefined
}
