import { Public } from '@certwright/service';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CertsConfig } from '../config';
import { jsonResponse, sendResponse } from '../wire/response';
import { DescribesPublicGet } from '../wire/openapi/operation';
import { Refusal } from '../wire/reasons';

@ApiSchema({ name: 'ClientVersion' })
class ClientVersionJson {
  @ApiProperty() latest_client_version: string;
}

/** Requested by clients that are not linked to an account yet. */
@Public()
@Controller('api/v2/latest_client_version')
export class ClientVersionController {
  constructor(@Inject(CertsConfig) private readonly config: Pick<CertsConfig, 'LATEST_CLIENT_VERSION'>) {}

  @Get()
  @DescribesPublicGet({
    summary: 'The newest version of the command-line client, never older than that of the caller',
    returns: ClientVersionJson,
    failsWith: ['not_found'],
  })
  retrieve(@Req() { headers }: FastifyRequest, @Res() reply: FastifyReply) {
    const version = newestClientVersion(this.config.LATEST_CLIENT_VERSION, headers['user-agent'] ?? '');
    if (version === null) {
      throw new Refusal('not_found', 'The newest version of the client is not known.');
    }
    const newest: ClientVersionJson = { latest_client_version: version };
    sendResponse(reply, jsonResponse(newest));
  }
}

/** `SSLMate/1.10.0 curl`: how existing clients name themselves. */
const ofClient = /^SSLMate\/(\d{1,6}(?:\.\d{1,6}){0,3})(?: |$)/;

/**
 * Existing clients offer every version that differs from their own as an upgrade, so the version returned is never older
 * than the client's own.
 *
 * @param known newest version that the operator names; null: none
 * @returns null when neither the operator nor the client names one
 */
function newestClientVersion(known: string | null, userAgent: string): string | null {
  const own = ofClient.exec(userAgent)?.[1] ?? null;
  if (known === null || own === null) return known ?? own;
  return isNewer(own, known) ? own : known;
}

function isNewer(one: string, other: string): boolean {
  const [ones, others] = [partsOf(one), partsOf(other)];
  const at = ones.findIndex((part, index) => part !== others[index]);
  return at !== -1 && (ones[at] ?? 0) > (others[at] ?? 0);
}

/** Always four, so that 1.10 and 1.10.0 are the same. */
const partsOf = (version: string): readonly number[] =>
  [...version.split('.').map(Number), 0, 0, 0].slice(0, 4);
