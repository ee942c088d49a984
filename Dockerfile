# Athena's app: the wheels are installed in one stage, and only they go into the image.
FROM python:3.11.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/athena
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY athena athena
COPY docs_corpus docs_corpus
COPY evals evals
COPY memory memory
COPY mission mission
COPY pipeline pipeline
COPY readers readers
COPY ui ui
# Which extras: --build-arg EXTRAS=…, as docker-compose.yml gives for TruLens.
ARG EXTRAS
RUN /opt/athena/bin/pip install --quiet --constraint requirements.lock ".[${EXTRAS:-openai,server,tracing}]"

FROM python:3.11.13-slim-bookworm
RUN useradd --create-home --uid 10001 athena && install -d -o athena -g athena /data
COPY --from=build /opt/athena /opt/athena
USER athena
WORKDIR /home/athena
# All addresses of the container; which of the machine's are published is up to whoever starts it.
ENV PATH=/opt/athena/bin:$PATH ATHENA_HOST=0.0.0.0 ATHENA_PORT=8501 ATHENA_DATA_DIR=/data
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# Nothing is embedded where nothing has changed. A failed ingest is no reason not to show the app, which says why.
CMD ["sh", "-c", "athena ingest; exec athena serve"]
