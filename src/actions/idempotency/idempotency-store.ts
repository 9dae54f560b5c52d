import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import { AnswerTable, type KeptResponse } from '../../database/answer-table.ts';
import { withinTransaction } from '../../database/own-transaction.ts';
import { isTransient } from '../../database/transient.ts';
import { WholeTransaction } from '../../database/whole-transaction.ts';
import { type Problem, problem } from '../../errors.ts';
import { retryLater } from '../../response/problem-document.ts';
import { type RequestState, stateOf } from '../../store/request-state.ts';
import { isFailure } from '../failure.ts';
import { EarlyReply, runHook } from '../hooks.ts';
import { type Answer, send } from '../respond.ts';
import { type Framework, userOf } from '../start/runtime.ts';
import { type KeyedRequest, keyedRequest } from './idempotency-key.ts';
import { TurnsByKey } from './turns-by-key.ts';

/** What a request is answered with, in its parts. */
export interface Exchange {
  readonly request: ApiRequest;
  readonly reply: FastifyReply;
  /** Finds out whether the caller may do it, and throws where not. */
  admit(): Promise<unknown>;
  /** Does it, and gives what its action gave, or a hook in its place. */
  act(): Promise<unknown>;
  /** The answer with what was given. */
  render(given: unknown): Promise<Answer>;
  /** Whether an answer may be given again to a caller for whom there is no entity any more; throws where the caller may not do it. */
  mayShowMissing(answer: Answer): Promise<boolean>;
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
  readonly #turns: TurnsByKey;

  constructor(framework: Framework) {
    const { database, server } = framework.declaration;
    this.#framework = framework;
    this.#table = new AnswerTable(framework.mapper, database.schema !== 'none');
    this.#ttl = (server.idempotency?.ttl ?? 0) * 1000;
    this.#limit = server.idempotency?.answerLimit ?? 0;
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
    try {
      await exchange.admit();
    } catch (error) {
      if (error instanceof EarlyReply) return exchange.render(error.reply);
      const kept = stateOf(exchange.request, this.#framework.mapper).isMissing ? await this.#find(keyed, exchange) : null;
      if (kept && (await exchange.mayShowMissing(kept))) return kept;
      throw error;
    }
    const kept = await this.#find(keyed, exchange);
    if (kept) return kept;
    const state = stateOf(exchange.request, this.#framework.mapper);
    const answer = await this.#do(keyed, exchange, state);
    if (answer === null) {
      const others = await this.#find(keyed, exchange);
      if (others) return others;
      throw inProgress();
    }
    this.#table.clean(Date.now());
    return this.#afterCommit(keyed, exchange, state, answer);
  }

  /** The answer that was given before to the same request. */
  async #find({ fingerprint, id }: KeyedRequest, { request }: Exchange): Promise<Answer | null> {
    const { em } = stateOf(request, this.#framework.mapper);
    const kept = await this.#table.find(em, id, Date.now());
    if (!kept) return null;
    if (kept.fingerprint !== fingerprint) throw problem('idempotency_key_reused');
    return replayOf(kept);
  }

  /** Does what is asked for and keeps its answer, in one transaction; null where somebody else has done it meanwhile. */
  async #do({ fingerprint, id }: KeyedRequest, exchange: Exchange, state: RequestState): Promise<Answer | null> {
    const { em } = state;
    const transaction = await WholeTransaction.begin(em);
    const stop = givenUp(exchange.reply, () => transaction.rollback());
    try {
      const now = Date.now();
      if (!(await claimed(this.#table.claim(em, id, fingerprint, now + this.#ttl, now)))) return null;
      return await withinTransaction(async () => {
        state.afterCommit = [];
        const given = await exchange.act();
        const answer = await exchange.render(given);
        if (isFailure(given) || answer.status >= 400) throw new Refusal(answer);
        await this.#table.keep(em, id, this.#written(answer));
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
  async #afterCommit({ id }: KeyedRequest, exchange: Exchange, state: RequestState, answer: Answer): Promise<Answer> {
    const hooks = state.afterCommit ?? [];
    state.afterCommit = null;
    try {
      for (const hook of hooks) await runHook(hook());
      return answer;
    } catch (error) {
      if (!(error instanceof EarlyReply)) throw error;
      const other = await exchange.render(error.reply);
      await this.#table.keep(state.em, id, this.#written(other));
      return other;
    }
  }

  #written({ body, headers, status }: Answer): string {
    const { 'set-cookie': _, ...kept } = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const isKept = body === null || Buffer.byteLength(body) <= this.#limit;
    return JSON.stringify({ status, headers: kept, ...(isKept ? { body } : {}) });
  }
}

/** An answer as it was kept, which says that it is not the first. */
function replayOf({ answer }: KeptResponse): Answer {
  const { body, headers, status } = JSON.parse(answer) as Answer;
  if (body === undefined) throw problem('idempotency_answer_too_large');
  return { status, body, headers: { ...headers, 'idempotency-replayed': 'true' } };
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
