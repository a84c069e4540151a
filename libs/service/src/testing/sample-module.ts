import { Body, Controller, Delete, Get, Header, HttpCode, Module, Param, Post } from '@nestjs/common';
import { IsDefined, Length } from 'class-validator';
import { Problem } from '@certwright/errors';
import type { CallerIdentity } from '../authentication/authenticator';
import { Caller } from '../authentication/caller';
import { Authenticated, Public, RequirePermission } from '../authentication/route-access';
import { BooleanMember, MayBeAbsent } from '../validation/members';
import { ReadBy, Unreadable } from '../validation/read-members';
import { BodyOf, requestReading, ValidQuery } from '../validation/request-parts';

class OrderBody {
  @IsDefined({ message: 'It is required.' })
  @Length(1, 255)
  name: string;

  @ReadBy((names) => (isTextArray(names) ? names : invalidNames))
  dns_names?: readonly string[];

  @BooleanMember({})
  muted?: boolean;
}

const isTextArray = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
const invalidNames = new Unreadable([{ code: 'invalid_dns_name', message: 'Each name must be a string.' }]);

class ListQuery {
  @MayBeAbsent()
  @Length(1, 10)
  after?: string;
}

class NoteBody {
  @BooleanMember({})
  muted?: boolean;
}

@RequirePermission('Order and Manage Certificates')
@Controller('orders')
class OrdersController {
  @Get()
  list(@ValidQuery() query: ListQuery): object {
    return { after: query.after ?? null };
  }

  @Post()
  create(@Body(requestReading) body: OrderBody): object {
    return body;
  }

  @Get(':name')
  get(@Param('name') name: string, @Caller() caller: CallerIdentity): object {
    return { name, account: caller.accountId };
  }

  @Delete(':name')
  @HttpCode(204)
  remove(): void {
    return;
  }

  @Get(':name/certs')
  certs(): readonly object[] {
    return [];
  }
}

/** What may go wrong inside. */
@Controller()
class FaultsController {
  @Public()
  @Get('download/:token')
  @Header('Content-Type', 'application/x-pem-file')
  download(): string {
    return '-----BEGIN CERTIFICATE-----';
  }

  @Public()
  @Get('faults/:kind')
  fault(@Param('kind') kind: string): never {
    if (kind === 'database')
      throw Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:5432'), { code: 'ECONNREFUSED' });
    if (kind === 'undefined') throw undefined;
    if (kind === 'unrenderable') throw new Problem('payment_required', 'unrenderable');
    throw new Error('SELECT secret FROM api_key failed at /srv/app.js');
  }

  @Authenticated()
  @Get('whoami')
  whoAmI(@Caller() caller: CallerIdentity): CallerIdentity {
    return caller;
  }

  @Public()
  @Post('echo')
  @HttpCode(200)
  echo(@Body() body: unknown): object {
    return { body };
  }

  @Public()
  @Post('notes')
  @HttpCode(200)
  note(@BodyOf(NoteBody, { otherTypes: ['application/x-note'] }) body: unknown): object {
    return { body };
  }

  @Public()
  @Post('optional')
  @HttpCode(200)
  optional(@BodyOf(NoteBody, { isOptional: true }) body: unknown): object {
    return { body };
  }

  @Public()
  @Get('slow')
  async slow(): Promise<object> {
    slowRequests.begun();
    await slowRequests.released;
    return { slow: true };
  }
}

@Module({ controllers: [OrdersController, FaultsController] })
export class SampleModule {}

/** Lets a spec hold a request while it does something else. */
export const slowRequests = {
  begun: (): void => undefined,
  released: Promise.resolve(),
};
