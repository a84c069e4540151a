import { Module } from '@nestjs/common';
import { IndexModule } from '../ct-index/index.module';
import { StatusController } from './status.controller';

@Module({
  imports: [IndexModule],
  controllers: [StatusController],
})
export class StatusModule {}
