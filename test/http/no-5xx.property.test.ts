import { describe } from 'vitest'
import { runs } from '../support/runs.ts'
import { noInputMakesA5xx } from './no-5xx.ts'

describe('no input makes a 5xx', () => noInputMakesA5xx(async () => ({}), runs))
