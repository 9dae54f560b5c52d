/** Runs one command line and answers its exit code. */
export async function main(_argv: string[]): Promise<number> {
  console.log('usage: declarest <command> [dir] [options]');
  return 0;
}
