FROM python:3.11-slim

LABEL org.opencontainers.image.title="OpenQuery" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"

RUN useradd --create-home --uid 1000 openquery && install -d -o openquery -g openquery -m 0700 /data
WORKDIR /app

COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes -r requirements.lock

COPY . .
USER openquery
ENV OPENQUERY_DATA=/data
VOLUME /data
EXPOSE 8501

HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=3)"]

# All interfaces of the container; compose.yaml publishes the port on loopback only.
CMD ["streamlit", "run", "server.py", "--server.address", "0.0.0.0", "--server.port", "8501"]
