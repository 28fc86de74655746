/** A step of the schema stays as it is once databases may have taken the step. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { MIGRATIONS as ON_POSTGRES } from '../../src/store/postgres/migrations.ts'
import { MIGRATIONS as ON_SQLITE } from '../../src/store/sqlite/migrations.ts'

/** The hash of each step that is in the main branch, without its comments and line breaks. A new step adds a line; no line changes. */
const LANDED = {
  'SQLite 17': 'waYMq6L4-8TD9na-jX0YRP1agnlliLXVa5tUV9Y7kf0',
  'PostgreSQL 17': 'wtLZKeFRgi0EUj8nw3JxWv5-QE_JzFHfmv7iEeIm3a8',
  'SQLite 18': '1VTlUKvg5HOeKum3xShmUzbi9KYALaCAsdvHyOSrY28',
  'PostgreSQL 18': 'fG4hcy6S8QZ4h6wQfE5dAgpr5cGaL-5kIEeORCGUm6Y',
  'SQLite 19': 'H8yx5qbpFgqG30Z3IZ-VZ55jjqQvgcs6XrTg2RASHlM',
  'PostgreSQL 19': 'ezwKTqBa6G9bA37SxU2bSQKw5dr7LjTcQqK0s6ndZv0',
  'SQLite 20': 'QnUpfoAiZ8iF9rI_5-1aUmQSExN0cCAHzLTM8_65AcM',
  'PostgreSQL 20': 'IrsHw_7E1mI78fWfkN_3Y-Ah8NbmXdulYGI92UTc3Nw',
  'SQLite 21': 'tXBAdYY980siuKoxPdiPpRDIlq6je43jCM-ioH7_4iU',
  'PostgreSQL 21': '39g9FJHWxb2oeYkfB1stQrgbAgaZMZ7J9Qx1DdKKep0',
  'SQLite 22': 'U0HbmFWC0L7T7y7KdiRv3A-hX2juoGIdZ1kUw-L1sEI',
  'PostgreSQL 22': 'SI47z-EiJ4ZtfZkwcstG3Tr03XkxFaIwO8-v1KXVwSM',
  'SQLite 23': 'u87H0O748WtqsQJW6YwnHQUHOxVYViazD1Vo9jP_7OU',
  'PostgreSQL 23': 'u87H0O748WtqsQJW6YwnHQUHOxVYViazD1Vo9jP_7OU',
  'SQLite 24': 'tM3kPq-CIBJmfkeYIlmf_sNnaEPceu7PyDAUDTIF67g',
  'SQLite 25': 'cG-mvdQhDBy9dyEG_IhrZHccmKYp_FH8ZUUajfBQiDg',
  'PostgreSQL 24': 'f2vdOF9ah-5lAoLaHsQzGmAHgUPd3lJNn9V_EbCseo4',
  'PostgreSQL 25': 'do_c8Ctk5k9_sAgm2gKkyU01pP-cc9J51Y0lhOWk6YI',
}

test('No step of the schema that is in the main branch has changed, on either engine', () => {
  const found = { ...hashesOf('SQLite', ON_SQLITE), ...hashesOf('PostgreSQL', ON_POSTGRES) }
  expect(found, 'Databases have taken this step. Leave it as it was, and add a new step.').toEqual(LANDED)
})

function hashesOf(engine: string, steps: typeof ON_SQLITE): Record<string, string> {
  return Object.fromEntries(
    steps.map(({ number, name, oldest, sql }) => {
      const statements = sql
        .replace(/^\s*--.*$/gm, '')
        .replace(/\s+/g, ' ')
        .trim()
      return [
        `${engine} ${number}`,
        createHash('sha256')
          .update(JSON.stringify([number, name, oldest, statements]))
          .digest('base64url'),
      ]
    }),
  )
}
