# The image is built from the wheel, which is built here: what it runs is what a package index would deliver.
FROM python:3.11-slim AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim

LABEL org.opencontainers.image.title="OpenQuery" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="MIT"

RUN useradd --create-home --uid 1000 openquery && install -d -o openquery -g openquery -m 0700 /data

COPY requirements.lock .
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl

USER openquery
WORKDIR /home/openquery
ENV OPENQUERY_DATA=/data
VOLUME /data
EXPOSE 8501

HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=3)"]

# All interfaces of the container; compose.yaml publishes the port on loopback only.
CMD ["openquery", "--host", "0.0.0.0", "--port", "8501"]
