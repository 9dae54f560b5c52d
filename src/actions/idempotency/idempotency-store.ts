import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { withinTransaction } from '../../database/own-transaction.ts';
import { IdempotencyTable } from '../../database/tables/idempotency-table.ts';
import { isTransient } from '../../database/transient.ts';
import { WholeTransaction } from '../../database/whole-transaction.ts';
import { type Problem, problem } from '../../errors.ts';
import { JsonReply } from '../../response/json-reply.ts';
import { retryLater } from '../../response/problem-document.ts';
import { isEntity } from '../../serialization/serializer.ts';
import type { Admission } from '../../store/port.ts';
import { type RequestState, stateOf } from '../../store/request-state.ts';
import { isFailure } from '../failure.ts';
import { EarlyReply, runHook } from '../hooks.ts';
import { type RenderedResponse, type ShownRows, send } from '../respond.ts';
import { type Framework, userOf } from '../start/runtime.ts';
import { ByteBudget } from './byte-budget.ts';
import { type KeyedRequest, keyedRequest } from './idempotency-key.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { type Replaying, replay, type StoredResponse } from './replay.ts';

/** The steps of a request with an `Idempotency-Key`. */
export interface Exchange extends Omit<Replaying, 'admission'> {
  readonly reply: FastifyReply;
  /** Checks access, and throws if it is denied. Returns the row of the request, if it has one. */
  admit(): Promise<Admission | null>;
  /** Runs the action, and returns its result, or the reply of a hook. */
  act(): Promise<unknown>;
  /** The response with a result; `shown` collects its rows. */
  render(given: unknown, shown?: ShownRows): Promise<RenderedResponse>;
  /** Whether a stored response may be returned to a caller who does not see the entity any more; throws if access is denied. */
  mayShowMissing(stored: StoredResponse): Promise<boolean>;
}

/** A response that is not stored, because nothing was changed. */
class Refusal {
  readonly answer: RenderedResponse;

  constructor(answer: RenderedResponse) {
    this.answer = answer;
  }
}

/** Handles requests with an `Idempotency-Key`: the action runs once, and repeated requests get the stored response. */
export class IdempotencyStore {
  readonly #table: IdempotencyTable;
  readonly #framework: Framework;
  readonly #ttl: number;
  readonly #limit: number;
  readonly #callers: ByteBudget;
  readonly #total: ByteBudget;
  readonly #turns: KeyedMutex;

  constructor(framework: Framework) {
    const { database, server } = framework.declaration;
    this.#framework = framework;
    this.#table = new IdempotencyTable(framework.mapper, database.schema !== 'none');
    this.#ttl = (server.idempotency?.ttl ?? 0) * 1000;
    this.#limit = server.idempotency?.answerLimit ?? 0;
    this.#callers = new ByteBudget(server.idempotency?.callerLimit ?? 0);
    this.#total = new ByteBudget(server.idempotency?.totalLimit ?? 0);
    this.#turns = new KeyedMutex(database.statementTimeout);
  }

  /** Reads the key and the fingerprint of a request, before code of the application sees its body. */
  read(request: ApiRequest): KeyedRequest {
    return keyedRequest(request, userOf(request));
  }

  /** Responds to a request: checks access, then looks for a stored response, then runs the action. */
  async answer(keyed: KeyedRequest, exchange: Exchange): Promise<FastifyReply> {
    const turn = await this.#turns.take(keyed.id);
    if (!turn) throw inProgress();
    try {
      if (!(await this.#table.isThere())) throw problem('idempotency_unavailable');
      return send(this.#framework, exchange.request, exchange.reply, await this.#answer(keyed, exchange));
    } finally {
      turn();
    }
  }

  async #answer(keyed: KeyedRequest, exchange: Exchange): Promise<RenderedResponse> {
    let admission: Admission | null;
    try {
      admission = await exchange.admit();
    } catch (error) {
      if (error instanceof EarlyReply) return exchange.render(error.reply);
      const stored = stateOf(exchange.request, this.#framework.mapper).isMissing ? await this.#find(keyed, exchange) : null;
      if (stored && (await exchange.mayShowMissing(stored))) return replayed(stored, exchange, null);
      throw error;
    }
    const stored = await this.#find(keyed, exchange);
    if (stored) return replayed(stored, exchange, admission);
    const state = stateOf(exchange.request, this.#framework.mapper);
    const answer = await this.#run(keyed, exchange, state);
    if (answer === null) {
      const others = await this.#find(keyed, exchange);
      if (others) return replayed(others, exchange, admission);
      throw inProgress();
    }
    return this.#afterCommit(keyed, exchange, state, answer);
  }

  /** The stored response to the same request. */
  async #find({ fingerprint, id }: KeyedRequest, { request }: Exchange): Promise<StoredResponse | null> {
    const { em } = stateOf(request, this.#framework.mapper);
    const stored = await this.#table.find(em, id, Date.now());
    if (!stored) return null;
    if (stored.fingerprint !== fingerprint) throw problem('idempotency_key_reused');
    return JSON.parse(stored.answer) as StoredResponse;
  }

  /** Runs the action and stores its response, in one transaction; null if another process did so meanwhile. */
  async #run(keyed: KeyedRequest, exchange: Exchange, state: RequestState): Promise<RenderedResponse | null> {
    const { em } = state;
    const transaction = await WholeTransaction.begin(em);
    const stop = undoOnTimeout(exchange.reply, () => transaction.rollback());
    try {
      const now = Date.now();
      if (!(await claimed(this.#table.claim(em, keyed, now + this.#ttl, now)))) return null;
      return await withinTransaction(async () => {
        state.afterCommit = [];
        const given = await exchange.act();
        const shown: ShownRows = { returned: [], embedded: [] };
        const answer = await exchange.render(given, shown);
        if (isFailure(given) || answer.status >= 400) throw new Refusal(answer);
        await this.#table.keep(em, keyed.id, await this.#written(em, keyed, { answer, given, shown }));
        await transaction.commit();
        return answer;
      });
    } catch (error) {
      state.afterCommit = null;
      if (error instanceof Refusal) return error.answer;
      throw error;
    } finally {
      stop();
      await transaction.rollback();
    }
  }

  /** Calls the hooks that waited for the commit. A reply of one of them replaces the stored response. */
  async #afterCommit(
    keyed: KeyedRequest,
    exchange: Exchange,
    state: RequestState,
    answer: RenderedResponse,
  ): Promise<RenderedResponse> {
    const hooks = state.afterCommit ?? [];
    state.afterCommit = null;
    try {
      for (const hook of hooks) await runHook(hook());
      return answer;
    } catch (error) {
      if (!(error instanceof EarlyReply)) throw error;
      const shown: ShownRows = { returned: [], embedded: [] };
      const answer = await exchange.render(error.reply, shown);
      const written = await this.#written(state.em, keyed, { answer, given: error.reply, shown });
      await this.#table.keep(state.em, keyed.id, written);
      return answer;
    }
  }

  /** The stored text of a response: without its body, if that is too large or the storage for them is used up. */
  async #written(em: RequestEntityManager, { caller }: KeyedRequest, { answer, given, shown }: Rendered): Promise<string> {
    const { body, headers, status } = answer;
    const { 'set-cookie': _, ...others } = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const { embedded, groups, returned } = shown;
    const isRow = returned.length === 1 && isOneRow(given);
    const rows = {
      ...(returned.length > 0 && { returned }),
      ...(embedded.length > 0 && { embedded }),
      ...(isRow && { isRow }),
      ...(groups !== undefined && { groups }),
    };
    const whole: StoredResponse = { status, headers: others, body, ...rows };
    const isSmall = (body === null || body.length <= this.#limit) && returned.length + embedded.length <= mostRows;
    const text = isSmall ? JSON.stringify(whole) : '';
    if (isSmall && (body === null || Buffer.byteLength(body) <= this.#limit) && (await this.#hasRoom(em, caller, text)))
      return text;
    return JSON.stringify({ status, headers: others, ...(isRow && { returned, isRow }) } satisfies StoredResponse);
  }

  async #hasRoom(em: RequestEntityManager, caller: string, text: string): Promise<boolean> {
    const bytes = Buffer.byteLength(text);
    return (
      (await this.#callers.take(caller, bytes, () => this.#table.bytes(em, caller))) &&
      (await this.#total.take('', bytes, () => this.#table.bytes(em, null)))
    );
  }
}

/** The most rows of a stored response: each is checked when the request is repeated. */
const mostRows = 100;

/** A response, the result that it was rendered from, and the rows that it shows. */
interface Rendered {
  readonly answer: RenderedResponse;
  readonly given: unknown;
  readonly shown: ShownRows;
}

/** Whether the result of an action is one entity in the groups of the action. */
function isOneRow(given: unknown): boolean {
  const { groups, value } = given instanceof JsonReply ? given : new JsonReply(given);
  return groups === null && isEntity(value);
}

/** The response to a request that was carried out before, or the reply of a hook. */
async function replayed(stored: StoredResponse, exchange: Exchange, admission: Admission | null): Promise<RenderedResponse> {
  try {
    return await replay(stored, { ...exchange, admission });
  } catch (error) {
    if (!(error instanceof EarlyReply)) throw error;
    return exchange.render(error.reply);
  }
}

/** Whether a key was claimed. If its first request takes too long, throws the problem with `Retry-After`. */
async function claimed(claim: Promise<boolean>): Promise<boolean> {
  try {
    return await claim;
  } catch (error) {
    // with a stricter isolation level, PostgreSQL fails if the key was committed meanwhile
    if (isTransient(error)) return false;
    if ((error as { code?: unknown }).code === '57014') throw inProgress(error);
    throw error;
  }
}

function inProgress(cause?: unknown): Problem {
  return problem('idempotency_in_progress', {}, { headers: retryLater, cause });
}

/** Rolls back a transaction if a response was sent meanwhile, as after a timeout: nothing waits for the transaction then. */
function undoOnTimeout({ raw }: FastifyReply, undo: () => unknown): () => void {
  const onClose = () => {
    if (raw.writableEnded) undo();
  };
  raw.once('close', onClose);
  return () => raw.off('close', onClose);
}
