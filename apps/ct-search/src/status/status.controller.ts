import { logReports } from '@certwright/ct-schema';
import { streamEnd } from '@certwright/ct-index';
import { Public } from '@certwright/service';
import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { replayedAt } from '../ct-index/data-age';
import { IndexReaders } from '../ct-index/index-readers';
import { sendJson } from '../wire/response';
import { Describes } from '../wire/openapi';
import { statusJson, StatusSchema } from './status-json';

/** How long a response is cached, seconds: the database is queried once, however many requests there are. */
const reusedS = 1;

const timeLimitMs = 5_000;

interface Kept {
  readonly json: Promise<string>;
  readonly untilMs: number;
}

/** Progress of reading the logs; requires no API key. */
@Controller('v1/status')
@Public()
export class StatusController {
  private kept: Kept | undefined;

  constructor(private readonly readers: IndexReaders) {}

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
