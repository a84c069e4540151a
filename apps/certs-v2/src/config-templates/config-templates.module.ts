import { Module } from '@nestjs/common';
import { ConfigTemplatesController } from './config-templates.controller';

@Module({
  controllers: [ConfigTemplatesController],
})
export class ConfigTemplatesModule {}
