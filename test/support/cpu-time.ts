/** Milliseconds of the processor that this thread has used. Other programs of the machine do not change them. */
export function cpuTime(): number {
  const { system, user } = process.threadCpuUsage();
  return (system + user) / 1000;
}
