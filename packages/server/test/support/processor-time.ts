/**
 * The processor time in milliseconds that work takes in this process. Other processes on the machine lengthen the elapsed time, but
 * not the processor time.
 */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
