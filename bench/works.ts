import { amounts } from './data/shape.ts';
import { seededRandom } from './statistics.ts';
import { tokenWith } from './tokens.ts';

/** What one request of a work is about; each contestant has its own way to ask for it. */
export interface Task {
  /** A person. */
  readonly id: number;
  readonly center: number;
  readonly page: number;
  readonly course: number;
  readonly email: string;
  /** Of a caller who may do everything, and works in the center. */
  readonly token: string;
  /** Of a caller who may not see staff. */
  readonly lesserToken: string;
}

export interface Work {
  readonly title: string;
  /** What to ask for at random. */
  readonly pages: number;
  readonly centers?: readonly number[];
  /** Refusals are asked for, and every answer must be one. */
  readonly refused?: true;
  /** Requests a second at which latency is measured. */
  readonly fixedRate?: number;
}

const pageSize = 20;
const fixedCenter = 7;
const perCenter = amounts.people / amounts.centers / pageSize;
const everyCenter = Array.from({ length: amounts.centers }, (_, index) => index + 1);

const defined = {
  E: { title: 'one entity with an embedded to-one', pages: 1, fixedRate: 300 },
  LF: {
    title: 'page of 20 of 1,000, fixed condition, exact count',
    pages: perCenter,
    centers: [fixedCenter],
    fixedRate: 150,
  },
  LFP: { title: 'the same, restricted by what the path names', pages: perCenter, centers: everyCenter },
  LFU: { title: 'the same, restricted by who the user is', pages: perCenter, centers: everyCenter },
  LS: { title: 'page of 20, filtered by center and birthdate, sorted by name and birthdate', pages: 10, centers: everyCenter },
  L: { title: 'page of 20 of 100,000, exact count, random pages', pages: amounts.people / pageSize },
  LN: { title: 'the same among the first ten pages', pages: 10 },
  // only the first half of the courses: participants of the others are added and removed
  LM: { title: 'page of 20 with an embedded to-many of 5 each', pages: amounts.courses / pageSize / 2 },
  W: { title: 'add and remove a participant', pages: 1 },
  WO: { title: 'the same by methods of the model', pages: 1 },
  P: { title: 'patch one field', pages: 1 },
  R401: { title: 'refused: no token', pages: 1, refused: true },
  R403: { title: 'refused: the voter denies', pages: 1, refused: true },
  R404: { title: 'refused: no such entity', pages: 1, refused: true },
  R405: { title: 'refused: method not enabled', pages: 1, refused: true },
} as const satisfies Record<string, Work>;

export type WorkName = keyof typeof defined;

export const works: Readonly<Record<WorkName, Work>> = defined;

const tokens = new Map<string, string>();

function remembered(center: number, roles: readonly string[]): string {
  const key = `${center} ${roles}`;
  const token = tokens.get(key) ?? tokenWith({ center, roles });
  tokens.set(key, token);
  return token;
}

/** So many tasks of a work, the same on every run. */
export function tasksOf({ pages, centers = [1] }: Work, count: number): Task[] {
  const random = seededRandom(20_261_115);
  return Array.from({ length: count }, () => {
    const center = centers[random(centers.length)] as number;
    const id = 1 + random(amounts.people);
    return {
      id,
      center,
      page: 1 + random(pages),
      course: 1 + amounts.courses / 2 + random(amounts.courses / 2),
      email: `p${id}-${random(1_000_000)}@example.org`,
      token: remembered(center, ['ROLE_STAFF']),
      lesserToken: remembered(center, []),
    };
  });
}
