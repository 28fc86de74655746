import { describe } from 'vitest'
import { runs } from '../../../support/runs.ts'
import { testArbitraryInput } from './no-5xx.ts'

describe('Arbitrary input on SQLite', () => testArbitraryInput(async () => ({}), runs))
