import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaries, freePort, initialize, launch, own, reachableBinaries, serverAccount, temporaryRoot } from './postgres.ts';
import { makeTemporary } from './temporary.ts';

/** A PostgreSQL server that accepts encrypted connections only. */
export interface TlsServer {
  /** Its address without parameters. The certificate is for the name `localhost`. */
  readonly url: string;
  /** The file with the certificate of the authority that signed the server's. */
  readonly authority: string;
  /** The same of an authority that signed nothing. */
  readonly otherAuthority: string;
  stop(): Promise<void>;
}

export async function startTlsServer(): Promise<TlsServer> {
  const account = serverAccount();
  const { directory, remove } = makeTemporary('tls', temporaryRoot(account));
  own(directory, account);
  const file = (name: string) => join(directory, name);
  const makeKey = (name: string, ...args: string[]) =>
    openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`, '-keyout', file(`${name}.key`), ...args);
  for (const name of ['authority', 'other']) makeKey(name, '-x509', '-days', '2', '-out', file(`${name}.crt`));
  makeKey('localhost', '-out', file('localhost.csr'));
  writeFileSync(file('names'), 'subjectAltName = DNS:localhost\n');
  const signedBy = ['-CA', file('authority.crt'), '-CAkey', file('authority.key'), '-CAcreateserial'];
  const files = ['-in', file('localhost.csr'), '-extfile', file('names'), '-out', file('localhost.crt')];
  openssl('x509', '-req', '-days', '2', ...signedBy, ...files);
  chmodSync(file('localhost.key'), 0o600);
  for (const name of ['localhost.key', 'localhost.crt']) own(file(name), account);

  const native = reachableBinaries(await binaries(), directory, account);
  const password = randomBytes(16).toString('hex');
  initialize(native, directory, password, account);
  writeFileSync(file('data/pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  const port = await freePort();
  const server = await launch(native, directory, port, account, {
    ssl: 'on',
    ssl_cert_file: file('localhost.crt'),
    ssl_key_file: file('localhost.key'),
  });
  const kill = () => server.kill('SIGQUIT');
  process.prependOnceListener('exit', kill);
  return {
    url: `postgresql://postgres:${password}@localhost:${port}/postgres`,
    authority: file('authority.crt'),
    otherAuthority: file('other.crt'),
    async stop() {
      process.off('exit', kill);
      const ended = once(server, 'exit');
      kill();
      await ended;
      remove();
    },
  };
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
