/** A rule for the endings on PostgreSQL that would be right if endings became visible in the order of their times. A test must find it out. */
import { BEGUN_BEFORE, type beginOfScan } from '../../src/store/postgres/ending-history.ts'

/** Continues at the time of the latest read. */
export const atLatestRead: typeof beginOfScan = ({ positions }) => (positions.at(-1)?.at ?? 0) + BEGUN_BEFORE
