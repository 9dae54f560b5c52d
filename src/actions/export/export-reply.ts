import type { FastifyReply } from 'fastify';
import { callerName } from '../../access/caller.ts';
import type { ApiRequest } from '../../access/user.ts';
import { type ExportSource, ExportStream, exemptFromTimeout, StalledExport } from '../../response/export-stream.ts';
import { loggableError } from '../../response/loggable-error.ts';
import { type CsvColumn, csvHeader } from '../../serialization/csv.ts';
import { contentTypes, type ExportFormat, isExport } from '../../serialization/formats.ts';
import type { Framework } from '../start/runtime.ts';

export { type ExportFormat, isExport };

/** The content and format of an export. */
export interface ExportOptions {
  readonly format: ExportFormat;
  /** The name of the file, without its extension. */
  readonly name: string;
  /** The columns of CSV; null for other formats. */
  readonly columns: readonly CsvColumn[] | null;
  open(): Promise<ExportSource>;
}

/** A whole list that is read only while it is sent. `indexApi` returns it for CSV and NDJSON. */
export class ExportReply {
  readonly options: ExportOptions;

  constructor(options: ExportOptions) {
    this.options = options;
  }

  /** Throws, because code that hides items of pages would otherwise have no effect on exports, without any error. */
  get results(): never {
    throw new Error(
      'the results of an export cannot be read before it is sent: hide rows or fields in afterFetch or beforeSerialize',
    );
  }
}

/** Sends an export. An error before its first lines were read gets an error response; a later one breaks the connection. */
export async function sendExport(
  { declaration, places }: Framework,
  request: ApiRequest,
  reply: FastifyReply,
  { columns, format, name, open }: ExportOptions,
): Promise<FastifyReply> {
  const announce = () => {
    reply.header('content-disposition', `attachment; filename="${name}.${format}"`);
    return reply.type(contentTypes[format]);
  };
  if (request.method === 'HEAD') return announce().send();
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const place = await places.take(callerName(request), gone.signal);
  let source: ExportSource | null = null;
  let start: string;
  try {
    source = await open();
    const { close } = source;
    gone.signal.addEventListener('abort', () => close.call(source).catch(() => undefined), { once: true });
    gone.signal.throwIfAborted();
    start = `${columns ? csvHeader(columns) : ''}${(await source.next()) ?? ''}`;
    gone.signal.throwIfAborted();
  } catch (error) {
    await source?.close().catch(() => undefined);
    place.release();
    if (!gone.signal.aborted) throw error;
    // the client has disconnected
    return reply.hijack();
  }
  const stream = new ExportStream(source, {
    start,
    stallTimeout: declaration.exports.stallTimeout,
    onFreed: () => place.release(),
    onUnread: (since) => {
      place.unreadSince = since;
    },
  });
  place.end = () => stream.destroy(new StalledExport('while other exports were waiting'));
  stream.on('error', (err) => {
    if (err instanceof StalledExport) request.log.warn({ err: loggableError(err) }, err.message);
    else if (!gone.signal.aborted) request.log.error({ err: loggableError(err) }, 'an export failed before its end');
  });
  exemptFromTimeout(reply.raw);
  return announce().send(stream);
}
