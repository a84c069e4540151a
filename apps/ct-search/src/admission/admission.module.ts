import { Module } from '@nestjs/common';
import { Admission } from './admission';

@Module({
  providers: [Admission],
  exports: [Admission],
})
export class AdmissionModule {}
