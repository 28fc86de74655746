/** The placement on Citus: the rows are on several machines. */
import type { PlacementFolder } from '../postgres/placement.ts'
import { Citus } from './citus.ts'
import { askEveryMachine, checkMachines } from './every-machine.ts'

export const citus: PlacementFolder = { open: (context) => new Citus(context), checkMachines, askEveryMachine }
