import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { makeTemporary } from './temporary.ts';

/** A response that came through nginx. */
export interface Proxied {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Nginx {
  send(method: string, path: string, headers?: Readonly<Record<string, string>>, body?: string): Promise<Proxied>;
  close(): Promise<void>;
}

/** Starts nginx. The settings are those of its `http` block; the server must listen on the socket. */
export async function startNginx(settings: (directory: string, socketPath: string) => string): Promise<Nginx> {
  const { directory, remove } = makeTemporary('nginx');
  const socketPath = join(directory, 'socket');
  const config = join(directory, 'nginx.conf');
  const log = join(directory, 'error.log');
  writeFileSync(config, configOf(directory, settings(directory, socketPath)));
  // Debian has it where only the administrator's path leads
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` };
  const proxy = spawn('nginx', ['-c', config, '-p', directory, '-e', log], { env, stdio: 'ignore' });
  const ended = Promise.race([once(proxy, 'exit'), once(proxy, 'error')]);
  const close = async () => {
    proxy.kill('SIGTERM');
    await ended.catch(() => undefined);
    remove();
  };
  for (let attempt = 0; !existsSync(socketPath); attempt++) {
    if (attempt < 500 && proxy.exitCode === null && proxy.pid !== undefined) {
      await wait(20);
      continue;
    }
    const reason = existsSync(log) ? readFileSync(log, 'utf8') : 'is it installed? On Debian: apt-get install nginx';
    await close();
    throw new Error(`nginx did not start: ${reason}`);
  }
  return { send: (method, path, headers, body) => send(socketPath, { method, path, headers, body }), close };
}

function configOf(directory: string, settings: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const places = kinds.map((kind) => `${kind}_temp_path ${directory}/${kind};`);
  return `daemon off;
master_process off;
pid ${directory}/pid;
events {}
http {
  access_log off;
  ${places.join('\n  ')}
  ${settings}
}
`;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

function send(socketPath: string, { body, headers = {}, method, path }: Sent): Promise<Proxied> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const all = { host: 'api.example', ...length, ...headers };
    const options = { socketPath, method, path, agent: false, headers: all, signal: AbortSignal.timeout(10_000) };
    const request = httpRequest(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
