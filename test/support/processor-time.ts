/**
 * How many milliseconds of processor time work takes in this process. Other processes on the machine lengthen the time that
 * passes, but not this one.
 */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
