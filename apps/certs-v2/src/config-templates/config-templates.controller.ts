import { Public } from '@certwright/service';
import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiParam, ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { jsonResponse, sendResponse } from '../wire/response';
import { ExpandArgument, fieldsIn, FlagArgument, readArguments, type Sent } from '../wire/arguments';
import type { Expansion } from '../wire/expansion';
import { DescribesPublicGet } from '../wire/openapi/operation';
import { Refusal } from '../wire/reasons';
import { configTemplates } from './config-templates';

class ConfigTemplateQuery {
  @FlagArgument({ description: 'Whether recommended settings are included.' })
  include_security_settings?: boolean;
  @ExpandArgument() expand?: Expansion;
}

@ApiSchema({ name: 'ConfigTemplate' })
class ConfigTemplateJson {
  @ApiProperty({ description: 'Name of the server program.' }) name: string;
  @ApiPropertyOptional({ description: 'Expandable. Paths of files are placeholders such as __CERT_PATH__.' })
  template?: string;
}

/** Templates contain nothing of an account, so they need no credentials. */
@Public()
@Controller('api/v2/config_templates')
export class ConfigTemplatesController {
  @Get()
  @DescribesPublicGet({ summary: 'Lists configuration templates', returns: [ConfigTemplateJson] })
  list(@Res() reply: FastifyReply) {
    const data: ConfigTemplateJson[] = configTemplates.map(({ name }) => ({ name }));
    sendResponse(reply, jsonResponse({ data }));
  }

  @Get(':name')
  @ApiParam({ name: 'name', type: String, description: 'nginx, for instance.' })
  @DescribesPublicGet({
    summary: 'Retrieves a configuration template',
    query: ConfigTemplateQuery,
    returns: ConfigTemplateJson,
    failsWith: ['template_not_found'],
  })
  retrieve(@Param('name') name: string, @Query() query: Sent, @Res() reply: FastifyReply) {
    const found = configTemplates.find((each) => each.name === name);
    if (found === undefined) {
      const known = configTemplates.map((each) => each.name).join(', ');
      throw new Refusal('template_not_found', `There is no such template; available: ${known}.`, {
        param: 'name',
      });
    }
    const parameters = readArguments(ConfigTemplateQuery, fieldsIn(query));
    const text = found.text(parameters.include_security_settings ?? false);
    const template: ConfigTemplateJson = {
      name,
      ...(parameters.expand?.has('template') ? { template: text } : {}),
    };
    sendResponse(reply, jsonResponse(template));
  }
}
