import type { Contestant } from './contestants.ts';
import type { LoadRequest } from './load/request.ts';
import { type Task, tasksOf, type WorkName, works } from './works.ts';

/** Workloads without a response body, which cannot be compared, by contestant. */
const bodiless: Partial<Record<string, readonly WorkName[]>> = { loopback: ['P'] };

interface Received {
  readonly status: number;
  readonly body: unknown;
}

interface Participant {
  readonly contestant: Contestant;
  readonly port: number;
  readonly works: readonly WorkName[];
}

const samples = 4;

/** Sends the same requests to every contestant, and throws unless all return the same rows, counts and fields. */
export async function checkAgreement(participants: readonly Participant[]): Promise<number> {
  let compared = 0;
  for (const name of Object.keys(works) as WorkName[]) {
    const taking = participants.filter((participant) => participant.works.includes(name));
    for (const task of tasksOf(works[name], samples)) {
      let first: { readonly name: string; readonly text: string } | undefined;
      for (const { contestant, port } of taking) {
        const text = await responseOf(contestant, port, name, task);
        if (text === null) continue;
        compared++;
        if (first && first.text !== text) {
          throw new Error(`${name}: ${contestant.name} answers\n${text}\nwhere ${first.name} answers\n${first.text}`);
        }
        first ??= { name: contestant.name, text };
      }
    }
  }
  return compared + (await checkRejections(participants));
}

/** Sends requests that every contestant must reject, and throws unless all reject them with the same status. */
async function checkRejections(participants: readonly Participant[]): Promise<number> {
  const statuses = new Map<string, { readonly name: string; readonly status: number }>();
  let compared = 0;
  for (const { contestant, port } of participants) {
    for (const [title, request] of Object.entries(contestant.dialect.rejected ?? {})) {
      const { status } = await send(port, request);
      const key = `${contestant.data}: ${title}`;
      const first = statuses.get(key) ?? { name: contestant.name, status };
      statuses.set(key, first);
      compared++;
      if (status < 400 || status !== first.status) {
        throw new Error(`${key}: ${contestant.name} returns ${status}, and ${first.name} returns ${first.status}`);
      }
    }
  }
  return compared;
}

async function responseOf({ name, dialect }: Contestant, port: number, work: WorkName, task: Task): Promise<string | null> {
  const requests = dialect.ask[work]?.(task) ?? [];
  const responses: Received[] = [];
  // in sequence, because a DELETE removes the item of the POST before it
  for (const request of requests) responses.push(await send(port, request));
  const { refused = false } = works[work];
  for (const { status, body } of responses) {
    if (status >= 400 !== refused) throw new Error(`${work}: ${name} answers ${status} ${JSON.stringify(body)}`);
  }
  if (refused) return responses.map(({ status }) => status).join();
  if (bodiless[name]?.includes(work)) return null;
  if (dialect.isExact) {
    return JSON.stringify(
      responses.map(({ status, body }) => ({ status, body: comparable(body, works[work].creates === true) })),
    );
  }
  const { items, count } = dialect.read(responses.map(({ body }) => body));
  return JSON.stringify({ count, items: items.map(normalized) });
}

async function send(port: number, { method, path, token, body }: LoadRequest): Promise<Received> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.headers.get('content-type') === 'application/x-ndjson') {
    const lines = text.trimEnd().split('\n');
    return { status: response.status, body: lines.map((line) => JSON.parse(line)) };
  }
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** A body without the parts that may differ: paths and tokens of links, and generated values of a new row. */
function comparable(body: unknown, isNew: boolean): unknown {
  const { pagination, ...rest } = body as { pagination?: { next: string | null; previous: string | null } };
  if (pagination) {
    const pageOf = (link: string | null) => link && new URL(link, 'http://localhost').searchParams.get('page');
    return { ...rest, pagination: { ...pagination, next: pageOf(pagination.next), previous: pageOf(pagination.previous) } };
  }
  return isNew ? { ...rest, id: null, created_at: null } : body;
}

/** The fields of an item that every contestant must return, with dates in one format. Other fields are ignored. */
function normalized(item: unknown): unknown {
  const given = item as Record<string, unknown>;
  if (Array.isArray(given.participants)) {
    const participants = given.participants.map(normalized) as { id: number }[];
    return { id: given.id, name: given.name, participants: participants.sort((a, b) => a.id - b.id) };
  }
  if (given.id === undefined) return { kind: given.kind, count: given.count };
  const { id, kind, first_name, last_name, email, birthdate, created_at } = given;
  const center = given.center as { id: number; name: string } | undefined;
  return {
    id,
    kind,
    first_name,
    last_name,
    email,
    birthdate: String(birthdate).slice(0, 10),
    created_at: new Date(created_at as string).toISOString(),
    center: { id: center?.id, name: center?.name },
  };
}
