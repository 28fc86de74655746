/** The placement on Citus: the rows are on several machines. */
import type { PlacementModule } from '../postgres/placement.ts'
import { Citus } from './citus.ts'
import { askEveryMachine, checkMachines } from './every-machine.ts'

export const citus: PlacementModule = { open: (context) => new Citus(context), checkMachines, askEveryMachine }
