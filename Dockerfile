# Athena's app: the wheels are installed in one stage, and only they go into the image.
FROM python:3.11.17-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/athena
# Which packages: --build-arg LOCK=…, as docker-compose.yml gives for TruLens. `make lock` writes the files.
ARG LOCK=image
COPY requirements-image.lock requirements-trulens.lock ./
RUN /opt/athena/bin/pip install --quiet --require-hashes --requirement requirements-${LOCK}.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY athena athena
COPY docs_corpus docs_corpus
COPY agent agent
COPY doors doors
COPY evals evals
COPY memory memory
COPY mission mission
COPY pipeline pipeline
COPY readers readers
COPY ui ui
RUN /opt/athena/bin/pip install --quiet --no-deps --no-build-isolation .

FROM python:3.11.17-slim-bookworm
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
# The app answers at once, and indexes meanwhile: nothing is embedded again where nothing has changed.
CMD ["athena", "serve", "--ingest"]
