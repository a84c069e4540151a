import 'reflect-metadata';
import { Problem } from '@certwright/errors';
import { type ArgumentsHost, Controller, Get, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiParam, ApiPropertyOptional, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';

import { BooleanMember } from './members';
import { ReadBy, type ReadMembers, Unreadable } from './read-members';
import { BodyOf, documentedParameter, NoBody, validMembers, ValidQuery } from './request-parts';

class Plan {
  @BooleanMember({ description: 'No notices are sent.' })
  muted?: boolean;
}

class Page {
  @ApiPropertyOptional({ type: 'integer' })
  @ReadBy((value) =>
    value === '1' ? 1 : new Unreadable([{ code: 'out_of_range', message: 'It must be 1.' }]),
  )
  limit = 7;
}

const PlanName = () =>
  documentedParameter(Param('name'), ApiParam({ name: 'name', description: 'Of the plan.' }));

@Controller('plans')
class PlansController {
  @Post()
  create(@BodyOf(Plan) body: ReadMembers<Plan>) {
    return body;
  }

  @Post(':name')
  update(@PlanName() name: string, @BodyOf(Plan, { isOptional: true }) body: ReadMembers<Plan>) {
    return { name, ...validMembers(body) };
  }

  @Post(':name/renew')
  renew(@NoBody() body: ReadMembers<object>) {
    return validMembers(body);
  }

  @Get()
  list(@ValidQuery() query: Page) {
    return query;
  }
}

@Module({ controllers: [PlansController] })
class PlansModule {}

describe('parameters of a request', () => {
  let app: NestFastifyApplication;
  beforeAll(async () => {
    app = await NestFactory.create<NestFastifyApplication>(PlansModule, new FastifyAdapter(), {
      logger: false,
    });
    app.useGlobalFilters({
      catch: (error: unknown, host: ArgumentsHost) => {
        const { code, message, faults } = error as Problem;
        void host.switchToHttp().getResponse<FastifyReply>().code(400).send({ code, message, faults });
      },
    });
    await app.init();
  });
  afterAll(() => app.close());

  const post = async (url: string, body?: unknown): Promise<unknown> =>
    (await app.inject({ method: 'POST', url, payload: body as object | undefined })).json();
  const get = async (url: string): Promise<unknown> => (await app.inject({ method: 'GET', url })).json();

  it('hand over the faults of a body with its valid members', async () => {
    expect(await post('/plans', { muted: true })).toEqual({
      value: { muted: true },
      faults: [],
      unknownMembers: [],
    });
    expect(await post('/plans', { muted: 1, colour: 'red' })).toEqual({
      value: {},
      faults: [{ field: 'muted', code: 'invalid_value', message: 'It must be true or false.' }],
      unknownMembers: ['colour'],
    });
  });

  it.each<[unknown]>([[undefined], [[]], ['"text"'], ['7'], ['true'], ['null']])(
    'refuse %j as a body: it is not a JSON object',
    async (payload) => {
      const headers = payload === undefined ? {} : { 'content-type': 'application/json' };
      const response = await app.inject({
        method: 'POST',
        url: '/plans',
        headers,
        payload: payload as string,
      });
      expect(response.json()).toEqual({
        code: 'bad_request',
        message: 'The body must be a JSON object.',
        faults: [],
      });
    },
  );

  it('take no body for an object without members where the body is optional', async () => {
    expect(await post('/plans/a')).toEqual({ name: 'a' });
    expect(await post('/plans/a/renew')).toEqual({});
    expect(await post('/plans/a/renew', {})).toEqual({});
  });

  it('are refused with a sub-error per fault and per unknown member', async () => {
    expect(await post('/plans/a', { muted: 1, colour: 'red' })).toMatchObject({
      code: 'bad_request',
      faults: [
        { field: 'muted', code: 'invalid_value' },
        { field: 'colour', code: 'invalid_value', message: 'There is no member colour.' },
      ],
    });
    expect(await post('/plans/a/renew', { muted: true })).toMatchObject({ faults: [{ field: 'muted' }] });
  });

  it('read a query by its class, with its defaults and without unknown parameters', async () => {
    expect(await get('/plans?utm_source=x')).toEqual({ limit: 7 });
    expect(await get('/plans?limit=1')).toEqual({ limit: 1 });
    expect(await get('/plans?limit=2')).toEqual({
      code: 'bad_query',
      message: expect.stringContaining('see limit') as string,
      faults: [{ field: 'limit', code: 'out_of_range', message: 'It must be 1.' }],
    });
  });

  it('are documented', () => {
    const { paths, components } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    expect(paths['/plans']?.get?.parameters).toEqual([
      { name: 'limit', required: false, in: 'query', schema: { type: 'integer' } },
    ]);
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/Plan' } } };
    expect(paths['/plans']?.post?.requestBody).toEqual({ required: true, content });
    expect(paths['/plans/{name}']?.post).toMatchObject({
      requestBody: { required: false, content },
      parameters: [{ name: 'name', in: 'path', description: 'Of the plan.' }],
    });
    expect(paths['/plans/{name}/renew']?.post?.requestBody).toBeUndefined();
    expect(components?.schemas?.['Plan']).toEqual({
      type: 'object',
      properties: { muted: { type: 'boolean', description: 'No notices are sent.' } },
    });
  });
});
