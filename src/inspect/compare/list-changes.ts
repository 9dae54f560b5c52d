import { type Change, closed, type FactsOfSubject, opened } from './changes.ts';

/** The changes of lists and nested rows that a method accepts. */
export function listChanges(about: FactsOfSubject): Change[] {
  const lost = about.removed('nested');
  const nameOf = (value: string) => value.split(' ', 1)[0] as string;
  const isKept = (value: string) => about.added('nested').some((now) => nameOf(now.value) === nameOf(value));
  return [
    ...about.added('bulk').map(({ place }) => opened(place, about.subject, 'accepts lists now')),
    ...about.removed('bulk').map(() => closed(null, about.subject, 'no longer accepts lists')),
    ...about.added('nested').map(({ place, value }) => {
      const was = lost.find((before) => nameOf(before) === nameOf(value));
      const text = `creates rows of ${value} now${was === undefined ? '' : `, was ${was}`}`;
      // a role where there was none closes; any other change may open
      return was === nameOf(value) ? closed(place, about.subject, text) : opened(place, about.subject, text);
    }),
    ...lost.filter((value) => !isKept(value)).map((value) => closed(null, about.subject, `no longer creates rows of ${value}`)),
  ];
}
