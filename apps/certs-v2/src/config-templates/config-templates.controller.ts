import { Public } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { jsonAnswer, sendAnswer } from '../wire/answer';
import { Arguments } from '../wire/arguments';
import { Expansion } from '../wire/expansion';
import { Refusal } from '../wire/reasons';
import { configTemplates } from './config-templates';

/** Nothing in them is anybody's own, so nobody is asked who he is. */
@Public()
@Controller('api/v2/config_templates')
export class ConfigTemplatesController {
  @Get()
  list(@Res() reply: FastifyReply) {
    sendAnswer(reply, jsonAnswer({ data: configTemplates.map(({ name }) => ({ name })) }));
  }

  @Get(':name')
  retrieve(
    @Param('name') name: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Res() reply: FastifyReply,
  ) {
    const template = configTemplates.find((each) => each.name === name);
    if (template === undefined) {
      const known = configTemplates.map((each) => each.name).join(', ');
      throw new Refusal('template_not_found', `There is no such template. There are: ${known}.`, {
        param: 'name',
      });
    }
    const security = Arguments.of(query, true).boolean('include_security_settings') ?? false;
    const text = Expansion.of(query['expand']).has('template') ? { template: template.text(security) } : {};
    sendAnswer(reply, jsonAnswer({ name: template.name, ...text }));
  }
}
