import { queryOfLink, withParameters } from '../model/location.ts';

export interface Page {
  readonly count?: number;
  readonly count_is?: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly pagination?: {
    readonly next: string | null;
    readonly previous: string | null;
    readonly first: number;
    readonly items_per_page: number;
  };
}

export function isPage(body: unknown): body is Page {
  return typeof body === 'object' && body !== null && Array.isArray((body as { results?: unknown }).results);
}

const numbers = new Intl.NumberFormat();

interface PagerProps {
  readonly page: Page;
  readonly query: string;
  /** The allowed number of items per page; null hides the choice. */
  readonly largest: number | null;
  readonly onQuery: (query: string) => void;
}

/** Pages by the links of the response. */
export function Pager({ page, query, largest, onQuery }: PagerProps) {
  const { count, count_is: about, pagination, results } = page;
  if (!pagination) return null;
  const { first, items_per_page: size, next, previous } = pagination;
  const sizes = [10, 20, 50, 100, 200].filter((each) => largest !== null && each <= largest);
  const range = results.length === 0 ? 'No items' : `${numbers.format(first + 1)}–${numbers.format(first + results.length)}`;
  const total =
    count === undefined
      ? ''
      : ` of ${about === 'capped' ? 'more than ' : about === 'estimated' ? 'about ' : ''}${numbers.format(count)}`;
  const follow = (link: string | null) => link !== null && onQuery(queryOfLink(link));
  return (
    <nav class="pager" aria-label="Pages">
      <p role="status">
        {range}
        {results.length > 0 && total}
      </p>
      <div class="row">
        {sizes.length > 1 && (
          <label class="inline">
            Per page
            <select
              value={String(size)}
              onChange={(event) => onQuery(withParameters(query, { items_per_page: event.currentTarget.value }))}
            >
              {[...new Set([...sizes, size])]
                .sort((a, b) => a - b)
                .map((each) => (
                  <option key={each} value={String(each)}>
                    {each}
                  </option>
                ))}
            </select>
          </label>
        )}
        <button type="button" disabled={previous === null && first === 0} onClick={() => onQuery(withParameters(query, {}))}>
          First
        </button>
        <button type="button" disabled={previous === null} onClick={() => follow(previous)}>
          ‹ Previous
        </button>
        <button type="button" disabled={next === null} onClick={() => follow(next)}>
          Next ›
        </button>
      </div>
    </nav>
  );
}
