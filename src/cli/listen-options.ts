import { integerOption } from './arguments.ts';
import { type Given, type Option, optionValue } from './command.ts';
import { CallFailure } from './failure.ts';

/** The options of the commands that serve. */
export const listenOptions: Readonly<Record<'port' | 'host', Option>> = {
  port: { value: 'N', doc: 'The port; 0 means any free one. Default: app_main.server.port, which is 3000 unless declared.' },
  host: { value: 'H', doc: 'The address to listen on. Default: app_main.server.host, which is 127.0.0.1 unless declared.' },
};

/** Where to listen, as far as the call says it. */
export function listenOn(given: Given): { readonly port?: number; readonly host?: string } {
  const port = optionValue(given, 'port');
  const host = optionValue(given, 'host');
  if (host?.trim() === '') throw new CallFailure('--host must be an address, such as 127.0.0.1, or 0.0.0.0 for every one');
  return {
    ...(port !== undefined && { port: integerOption('port', port, { min: 0, max: 65_535 }) }),
    ...(host !== undefined && { host }),
  };
}
