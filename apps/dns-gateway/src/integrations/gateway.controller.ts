import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { GatewayMessages } from '@certwright/gateway-contract';
import { Public } from '@certwright/service';
import type { FastifyRequest } from 'fastify';
import { AddRecord } from './add-record';
import { GetZones } from './get-zones';
import { MakeIntegration } from './make-integration';
import { RemoveRecord } from './remove-record';
import { RequestBounds } from './request-bounds';
import { readAddRecord, readGetZones, readMakeIntegration, readRemoveRecord } from './messages-reader';

type AnswerOf<E extends keyof GatewayMessages> = Promise<GatewayMessages[E]['answer']>;

/** The four messages. No API key is asked for (`Public`): clients were admitted by their certificates before. */
@Public()
@Controller()
export class GatewayController {
  constructor(
    private readonly bounds: RequestBounds,
    private readonly makes: MakeIntegration,
    private readonly zones: GetZones,
    private readonly adds: AddRecord,
    private readonly removes: RemoveRecord,
  ) {}

  @Post('make_integration')
  @HttpCode(200)
  async makeIntegration(@Body() body: unknown, @Req() request: FastifyRequest): AnswerOf<'make_integration'> {
    const message = readMakeIntegration(body);
    return await this.bounds.run((signal) => this.makes.make(message, { ...askedBy(request), signal }));
  }

  @Post('get_zones')
  @HttpCode(200)
  async getZones(@Body() body: unknown, @Req() request: FastifyRequest): AnswerOf<'get_zones'> {
    const message = readGetZones(body);
    return await this.bounds.run((signal) => this.zones.get(message, { ...askedBy(request), signal }));
  }

  @Post('add_record')
  @HttpCode(200)
  async addRecord(@Body() body: unknown, @Req() request: FastifyRequest): AnswerOf<'add_record'> {
    const message = readAddRecord(body);
    return await this.bounds.run((signal) => this.adds.add(message, { ...askedBy(request), signal }));
  }

  @Post('remove_record')
  @HttpCode(200)
  async removeRecord(@Body() body: unknown, @Req() request: FastifyRequest): AnswerOf<'remove_record'> {
    const message = readRemoveRecord(body);
    return await this.bounds.run((signal) => this.removes.remove(message, { ...askedBy(request), signal }));
  }
}

const askedBy = ({ id, client }: FastifyRequest) => ({ requestId: id, client });
