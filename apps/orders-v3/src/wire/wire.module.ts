import { Global, Module } from '@nestjs/common';
import { Addresses } from './addresses';

/** For every module: each resource has an address. */
@Global()
@Module({ providers: [Addresses], exports: [Addresses] })
export class WireModule {}
