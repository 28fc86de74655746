/** A list of scopes or resources as it is stored: its members, separated by one space. No scope and no URI contains a space. Empty for no member. */

export const listText = (members: readonly string[]): string => members.join(' ')

export const readList = (text: string): string[] => (text === '' ? [] : text.split(' '))
