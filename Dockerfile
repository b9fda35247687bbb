FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md CHANGELOG.md LICENSE ./
COPY kinepy kinepy
COPY migrations migrations
COPY server server
RUN pip wheel --no-cache-dir --wheel-dir /wheels '.[postgres]'

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'kinepy[postgres]' && rm -r /wheels \
 && useradd --system --uid 10001 kinepy \
 && install -d -o kinepy -g kinepy -m 0700 /data
USER kinepy
VOLUME /data
EXPOSE 6443
ENV KINEPY_DATA=/data KINEPY_LISTEN=0.0.0.0:6443
ENTRYPOINT ["kinepy"]
CMD ["serve"]
