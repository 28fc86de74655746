/** The English catalogue: the keys of every other catalogue. */
import { accountTexts } from './account-texts.ts'
import { noticeTexts } from './notice-texts.ts'
import { texts } from './texts.ts'

const { development: _, ...common } = texts

export const english = { ...common, account: accountTexts, notices: noticeTexts }

/** The same keys with any text. The tone of a notice is not text, and hints for the people who build an app are English in every language. */
export type Texts = Translated<typeof english>

/**
 * A text with a count: one text for each category of Intl.PluralRules that the language has. `other` stands for a category without a
 * text.
 */
export type Plural = { readonly other: string } & { readonly [Category in Intl.LDMLPluralRule]?: string }

type Translated<T> = T extends string
  ? string
  : T extends { one: string; other: string }
    ? Plural
    : { readonly [Key in keyof T as Exclude<Key, 'tone' | 'builder'>]: Translated<T[Key]> }
