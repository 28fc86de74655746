/** The settings in force of the process that answers. Settings are changed in the environment, and a change needs a restart. */

import type { Members } from '../members/member.ts'
import { Type } from './json-schema.ts'
import { column, columns, type RecordKind, type Subject } from './operation.ts'
import { fieldsOf, nameSchema, textOrNull } from './schemas.ts'
import type { ServiceSetting } from './service.ts'
import { operationsOn } from './standard.ts'

const fields = fieldsOf<ServiceSetting>()({
  name: [Type.String({ description: 'The name in the environment.' }), ({ name }) => name],
  section: [Type.String({ description: 'The heading of the setting in the documentation.' }), ({ section }) => section],
  value: [
    Type.Union([Type.String(), Type.Null()], {
      description:
        'Null for a secret, and for a setting without a value. Passwords, and paths of URLs that may be keys, are left out.',
    }),
    ({ value }) => value,
  ],
  unit: [
    Type.Union([Type.String(), Type.Null()], { description: 'Of a number, such as `seconds`. Null for other values.' }),
    ({ unit }) => unit,
  ],
  source: [
    Type.Enum(['environment', 'file', 'default'], {
      description: '`file`: the setting is a secret, and another setting names its file.',
    }),
    ({ source }) => source,
  ],
  is_set: [Type.Boolean({ description: 'False if the value is the default.' }), ({ isSet }) => isSet],
  is_secret: [Type.Boolean(), ({ isSecret }) => isSecret],
  default: [textOrNull, ({ usual }) => usual],
  description: [Type.String(), ({ words }) => words],
})

const settingKind: RecordKind = {
  name: 'settings',
  noun: 'setting',
  words: 'The settings in force',
  schemas: [nameSchema('Setting', Type.Object(fields.schemas))],
  scope: 'admin.read',
  settings: 'grants',
  idName: 'name',
  empty: 'There is no setting.',
  displays: [
    ...columns('name'),
    { ...column('VALUE', 'value'), shown: (record) => valueOf(record as SettingRecord) },
    column('FROM', 'source'),
  ],
}

export type SettingRecord = ReturnType<typeof fields.read>
export const settingRecord = fields.read

/** The value of a setting in words. */
export function valueOf({ value, unit, is_set: isSet, is_secret: isSecret, default: usual }: SettingRecord): string {
  if (isSecret) return isSet ? 'set' : 'not set'
  return value === null ? (usual ?? 'not set') : valueWithUnit({ value, unit })
}

/** Such as `600 seconds`. */
export function valueWithUnit({ value, unit }: Pick<SettingRecord, 'value' | 'unit'>): string {
  return unit === null ? String(value) : `${value} ${unit}`
}

export const listSettings = operationsOn(settingKind).list<Members, SettingRecord>({
  summary: 'Lists the settings in force of the process that answers, and where each value comes from.',
  description:
    'Secrets are never in the answer: `is_set` shows whether a secret is set. Nodes of one service can have different settings.',
  // The command needs no store: packages/server/src/app/commands/settings.ts.
  command: null,
  run: async ({ service }) => ({ output: { items: service.settings.map(settingRecord) } }),
})

export const settings: Subject = { ...settingKind, operations: [listSettings] }
