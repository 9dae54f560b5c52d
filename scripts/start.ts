// Serves the example application and prints requests to try.
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const example = 'examples/courses';
const declarest = (...args: string[]) => ['bin/declarest.js', ...args];

const port = process.env.PORT ?? '3000';
const server = spawn(process.execPath, declarest('serve', example, '--port', port), {
  cwd: root,
  stdio: ['inherit', 'pipe', 'inherit'],
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => server.kill(signal));
server.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal ? 1 : 0);
});

let isPrinted = false;
server.stdout.setEncoding('utf8').on('data', (text: string) => {
  process.stdout.write(text);
  const url = /listening on (\S+)/.exec(text)?.[1];
  if (!url || isPrinted) return;
  isPrinted = true;
  process.stdout.write(suggestions(url));
});

function suggestions(url: string): string {
  const token = spawnSync(
    process.execPath,
    declarest('token', example, '--sub', '1', '--roles', 'ROLE_USER', '--claim', 'centers=[1,2]'),
    {
      cwd: root,
      encoding: 'utf8',
    },
  ).stdout.trim();
  return `
What to try next: open ${url} in a browser, or in another terminal:

  # the centers, which are public
  curl ${url}/api/center.json

  # people, without a token: 401 with the reason
  curl -i ${url}/api/person.json

  # the courses of centers 1 and 2, two a page, as user 1
  curl '${url}/api/course.json?items_per_page=2' -H 'Authorization: Bearer ${token}'

  # people called Ada in center 1, for a spreadsheet
  curl '${url}/api/person.csv?q=ada&center.id=1&sort=birthdate&fields=id,fullName,birthdate' -H 'Authorization: Bearer ${token}'

Routes: npx declarest routes ${example}    Edit examples/courses/config/apis.yaml and start again to change them.
`;
}
