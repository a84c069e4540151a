import { Module } from '@nestjs/common';
import { ResolversModule } from '../resolvers/resolvers.module';
import { CaaController } from './caa.controller';
import { CaaOfName } from './caa-of-name';

/** Whether CAA records allow a CA to issue. */
@Module({ imports: [ResolversModule], controllers: [CaaController], providers: [CaaOfName] })
export class CaaModule {}
