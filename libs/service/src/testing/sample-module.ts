import { Body, Controller, Delete, Get, Header, HttpCode, Module, Param, Post, Query } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsArray, IsBoolean, IsOptional, IsString, Length, ValidateNested } from 'class-validator';
import { Problem } from '@certwright/errors';
import type { CallerIdentity } from '../authentication/authenticator';
import { Caller } from '../authentication/caller';
import { Authenticated, Public, RequirePermission } from '../authentication/route-access';

class ApproverBody {
  @IsString()
  email!: string;
}

class OrderBody {
  @IsString()
  @Length(1, 255)
  name!: string;

  @IsOptional()
  @IsArray()
  @IsString({ each: true, context: { code: 'invalid_dns_name' } })
  dns_names?: string[];

  @IsOptional()
  @IsBoolean()
  muted?: boolean;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => ApproverBody)
  approvers?: ApproverBody[];
}

class ListQuery {
  @IsOptional()
  @Length(1, 10)
  after?: string;
}

@RequirePermission('Order and Manage Certificates')
@Controller('orders')
class OrdersController {
  @Get()
  list(@Query() query: ListQuery): object {
    return { after: query.after ?? null };
  }

  @Post()
  create(@Body() body: OrderBody): object {
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
