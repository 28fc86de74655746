/** A database on Citus, which consists of several machines. Plain PostgreSQL never loads this folder. */
export { openCluster } from './citus.ts'
export { countUndistributed, distribute } from './distribute.ts'
export { configureSteps } from './distribution.ts'
export { askEveryMachine, checkMachines } from './every-machine.ts'
