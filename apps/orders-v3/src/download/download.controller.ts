import { Public } from '@certwright/service';
import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendAnswer } from '../wire/answer';
import { describesDownload } from '../publications/public-operations';
import { DownloadCurrentCertificate } from './download-current-certificate.use-case';

@Controller('download')
@Public()
export class DownloadController {
  constructor(private readonly download: DownloadCurrentCertificate) {}

  @Get(':token')
  @describesDownload
  async current(@Param('token') token: string, @Res() reply: FastifyReply) {
    sendAnswer(reply, await this.download.run(token));
  }
}
