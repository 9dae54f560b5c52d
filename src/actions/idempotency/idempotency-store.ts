import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import { AnswerTable } from '../../database/answer-table.ts';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { withinTransaction } from '../../database/own-transaction.ts';
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
import { type Answer, type ShownRows, send } from '../respond.ts';
import { type Framework, userOf } from '../start/runtime.ts';
import { ByteBudget } from './byte-budget.ts';
import { type KeyedRequest, keyedRequest } from './idempotency-key.ts';
import { type Replaying, replay, type StoredResponse } from './replay.ts';
import { TurnsByKey } from './turns-by-key.ts';

/** What a request is answered with, in its parts. */
export interface Exchange extends Omit<Replaying, 'admission'> {
  readonly reply: FastifyReply;
  /** Finds out whether the caller may do it, and throws where not. Gives the row of the request, if it has one. */
  admit(): Promise<Admission | null>;
  /** Does it, and gives what its action gave, or a hook in its place. */
  act(): Promise<unknown>;
  /** The answer with what was given; `shown` is told of its rows. */
  render(given: unknown, shown?: ShownRows): Promise<Answer>;
  /** Whether an answer may be given again to a caller for whom there is no entity any more; throws where the caller may not do it. */
  mayShowMissing(stored: StoredResponse): Promise<boolean>;
}

/** An answer that is not kept: nothing was changed. */
class Refusal {
  readonly answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
  }
}

/** Answers requests with an `Idempotency-Key`: what they ask for is done once, and its answer given as often as it is asked for. */
export class IdempotencyStore {
  readonly #table: AnswerTable;
  readonly #framework: Framework;
  readonly #ttl: number;
  readonly #limit: number;
  readonly #callers: ByteBudget;
  readonly #total: ByteBudget;
  readonly #turns: TurnsByKey;

  constructor(framework: Framework) {
    const { database, server } = framework.declaration;
    this.#framework = framework;
    this.#table = new AnswerTable(framework.mapper, database.schema !== 'none');
    this.#ttl = (server.idempotency?.ttl ?? 0) * 1000;
    this.#limit = server.idempotency?.answerLimit ?? 0;
    this.#callers = new ByteBudget(server.idempotency?.callerLimit ?? 0);
    this.#total = new ByteBudget(server.idempotency?.totalLimit ?? 0);
    this.#turns = new TurnsByKey(database.statementTimeout);
  }

  /** Reads what tells a request from others, before code of the application sees its body. */
  read(request: ApiRequest): KeyedRequest {
    return keyedRequest(request, userOf(request));
  }

  /** Answers a request: first who may, then what was answered before, then what it asks for. */
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

  async #answer(keyed: KeyedRequest, exchange: Exchange): Promise<Answer> {
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
    const answer = await this.#do(keyed, exchange, state);
    if (answer === null) {
      const others = await this.#find(keyed, exchange);
      if (others) return replayed(others, exchange, admission);
      throw inProgress();
    }
    return this.#afterCommit(keyed, exchange, state, answer);
  }

  /** The answer that was given before to the same request. */
  async #find({ fingerprint, id }: KeyedRequest, { request }: Exchange): Promise<StoredResponse | null> {
    const { em } = stateOf(request, this.#framework.mapper);
    const kept = await this.#table.find(em, id, Date.now());
    if (!kept) return null;
    if (kept.fingerprint !== fingerprint) throw problem('idempotency_key_reused');
    return JSON.parse(kept.answer) as StoredResponse;
  }

  /** Does what is asked for and keeps its answer, in one transaction; null where somebody else has done it meanwhile. */
  async #do(keyed: KeyedRequest, exchange: Exchange, state: RequestState): Promise<Answer | null> {
    const { em } = state;
    const transaction = await WholeTransaction.begin(em);
    const stop = givenUp(exchange.reply, () => transaction.rollback());
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

  /** Calls the hooks that waited for the commit. A reply of one of them is the answer from then on. */
  async #afterCommit(keyed: KeyedRequest, exchange: Exchange, state: RequestState, answer: Answer): Promise<Answer> {
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

  /** What is stored of a response. Without its body, if that is too large or there is no room for it. */
  async #written(em: RequestEntityManager, { caller }: KeyedRequest, { answer, given, shown }: Rendered): Promise<string> {
    const { body, headers, status } = answer;
    const { 'set-cookie': _, ...kept } = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const { embedded, returned } = shown;
    const isRow = returned.length === 1 && isOneRow(given);
    const rows = {
      ...(returned.length > 0 && { returned }),
      ...(embedded.length > 0 && { embedded }),
      ...(isRow && { isRow }),
    };
    const whole: StoredResponse = { status, headers: kept, body, ...rows };
    const isSmall = (body === null || body.length <= this.#limit) && returned.length + embedded.length <= mostRows;
    const text = isSmall ? JSON.stringify(whole) : '';
    if (isSmall && (body === null || Buffer.byteLength(body) <= this.#limit) && (await this.#hasRoom(em, caller, text)))
      return text;
    return JSON.stringify({ status, headers: kept, ...(isRow && { returned, isRow }) } satisfies StoredResponse);
  }

  async #hasRoom(em: RequestEntityManager, caller: string, text: string): Promise<boolean> {
    const bytes = Buffer.byteLength(text);
    return (
      (await this.#callers.take(caller, bytes, () => this.#table.bytes(em, caller))) &&
      (await this.#total.take('', bytes, () => this.#table.bytes(em, null)))
    );
  }
}

/** The most rows of a stored response: each is looked at when the request is repeated. */
const mostRows = 100;

/** A response, and what it was made of. */
interface Rendered {
  readonly answer: Answer;
  readonly given: unknown;
  readonly shown: ShownRows;
}

/** Whether what an action gave is one entity in the groups of the action. */
function isOneRow(given: unknown): boolean {
  const { groups, value } = given instanceof JsonReply ? given : new JsonReply(given);
  return groups === null && isEntity(value);
}

/** The response to a request that was carried out before, or that of a hook which has something against it. */
async function replayed(stored: StoredResponse, exchange: Exchange, admission: Admission | null): Promise<Answer> {
  try {
    return await replay(stored, { ...exchange, admission });
  } catch (error) {
    if (!(error instanceof EarlyReply)) throw error;
    return exchange.render(error.reply);
  }
}

/** Whether a key was claimed; somebody who waits too long for its first request is told to come back. */
async function claimed(claim: Promise<boolean>): Promise<boolean> {
  try {
    return await claim;
  } catch (error) {
    // with a stricter isolation than usual, PostgreSQL refuses to see what was committed meanwhile
    if (isTransient(error)) return false;
    if ((error as { code?: unknown }).code === '57014') throw inProgress(error);
    throw error;
  }
}

function inProgress(cause?: unknown): Problem {
  return problem('idempotency_in_progress', {}, { headers: retryLater, cause });
}

/** Undoes a transaction when the request was answered by somebody else, as one is that takes too long: nothing waits for it then. */
function givenUp({ raw }: FastifyReply, undo: () => unknown): () => void {
  const onClose = () => {
    if (raw.writableEnded) undo();
  };
  raw.once('close', onClose);
  return () => raw.off('close', onClose);
}
