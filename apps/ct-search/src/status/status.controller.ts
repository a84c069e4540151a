import { logReports } from '@certwright/ct-schema';
import { streamEnd } from '@certwright/ct-index';
import { Public, RunningProcess } from '@certwright/service';
import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Gauge } from 'prom-client';
import { type IndexReader, IndexReaders } from '../ct-index/index-readers';
import { sendJson } from '../wire/response';
import { Describes } from '../wire/openapi';
import { statusJson, StatusSchema } from './status-json';

/** How long a response is cached, seconds: the database is queried once, however many requests there are. */
const reusedS = 1;

const timeLimitMs = 5_000;
/** Less than the 3 s in which a metric has to be read. */
const metricTimeLimitMs = 2_000;

interface Kept {
  readonly json: Promise<string>;
  readonly untilMs: number;
}

/** Progress of reading the logs; requires no API key. */
@Controller('v1/status')
@Public()
export class StatusController {
  private kept: Kept | undefined;

  constructor(
    private readonly readers: IndexReaders,
    { metrics: { registry } }: RunningProcess,
  ) {
    new Gauge({
      name: 'certwright_ct_data_age_seconds',
      help: 'How far the ct database that this process reads is behind the primary; 0: it is the primary',
      registers: [registry],
      async collect() {
        const at = await replayedAt(readers.within({ kind: 'status', timeLimitMs: metricTimeLimitMs }));
        this.set(at.isReplica ? Math.max(0, (Date.now() - at.at.getTime()) / 1_000) : 0);
      },
    });
  }

  @Get()
  @Describes({
    operationId: 'getStatus',
    summary: 'How far each log is followed, and whether any lags',
    access: 'public',
    success: { type: StatusSchema },
  })
  async status(@Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, await this.present(), { 'cache-control': `public, max-age=${reusedS}` });
  }

  private async present(): Promise<string> {
    const nowMs = performance.now();
    if (this.kept === undefined || nowMs >= this.kept.untilMs) {
      const kept = { json: this.read(), untilMs: nowMs + reusedS * 1_000 };
      this.kept = kept;
      // Errors are not cached: the next request tries again.
      kept.json.catch(() => {
        if (this.kept === kept) this.kept = undefined;
      });
    }
    return await this.kept.json;
  }

  private async read(): Promise<string> {
    const reader = this.readers.within({ kind: 'status', timeLimitMs });
    const [logs, end, { at: asOf }] = await Promise.all([
      logReports(reader),
      streamEnd(reader),
      replayedAt(reader),
    ]);
    return JSON.stringify(statusJson(logs, end, asOf, new Date()));
  }
}

/** Of the data: a replica has what was committed until then. ct-ingest commits at least once per poll of a log. */
async function replayedAt(reader: IndexReader): Promise<{ readonly at: Date; readonly isReplica: boolean }> {
  const [replayed] = await reader.query<[{ at: Date; isReplica: boolean }]>(
    `SELECT pg_is_in_recovery() AS "isReplica",
       CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())
       ELSE clock_timestamp() END AS at`,
  );
  return replayed;
}
