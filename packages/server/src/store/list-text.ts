/**
 * A list of scopes, resources or clients as it is stored: its members, separated by one space. No scope, no URI and no id of a client contains a space. Empty
 * for no member.
 */

export const listText = (members: readonly string[]): string => members.join(' ')

export const readList = (text: string): string[] => (text === '' ? [] : text.split(' '))
